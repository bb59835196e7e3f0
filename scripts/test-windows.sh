#!/bin/bash
# Builds the core for x86_64-pc-windows-gnu and runs its tests under wine. The README says what that proves.
#
# The machine's own Rust has no Windows target, and its standard library comes without sources. Debian's `rustc-web`
# (1.85) comes with them, so it builds library and tests with `-Zbuild-std`; what 1.86 to 1.88 made stable, and this
# crate uses, is switched on as a feature (FEATURES). Everything made here lies in `target/windows`.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(rustc-web cargo-web rust-web-src gcc-mingw-w64-x86-64-posix wine64)
FEATURES=let_chains,unsigned_is_multiple_of
triple=x86_64-pc-windows-gnu
gcc=x86_64-w64-mingw32-gcc

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    if ! [ "$(id -u)" = 0 ]; then
        echo "test:windows needs ${missing[*]}: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    apt-get install -y --no-install-recommends "${missing[@]}"
fi

out=$(realpath -m "${CARGO_TARGET_DIR:-target}/windows")
tools=$out/tools
mkdir -p "$tools"

# The linker: Rust's two start-up objects are not in Debian's packages. On x86-64 nothing is in them.
cat >"$tools/$gcc" <<END
#!/bin/bash
arguments=()
for argument; do
    case \$argument in rsbegin.o | rsend.o) ;; *) arguments+=("\$argument") ;; esac
done
exec $(command -v $gcc) "\${arguments[@]}"
END

# The compiler: features for those packages that ask for a newer one.
cat >"$tools/rustc" <<END
#!/bin/bash
case \${CARGO_PKG_NAME:-} in
pipestate | proptest) exec "\$@" "-Zcrate-attr=feature($FEATURES)" ;;
*) exec "\$@" ;;
esac
END

# The runner: wine's 64-bit loader itself, because the script \`wine\` asks for a 32-bit one on every start.
cat >"$tools/run" <<END
#!/bin/bash
exec /usr/lib/wine/wine64 "\$@"
END
chmod +x "$tools"/*

export RUSTC=/usr/bin/rustc RUSTC_WRAPPER=$tools/rustc RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR=$out CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$tools/$gcc CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$tools/run
export WINEPREFIX=$out/wine WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES="mscoree,mshtml=" DISPLAY=
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS

# This wine lacks the library that Rust's standard library takes random numbers from.
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if ! [ -e "$library" ]; then
    "$tools/run" wineboot --init >/dev/null 2>&1
    $gcc -shared -O1 -o "$library" -x c - -ladvapi32 <<'END'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T length) {
    return RtlGenRandom(bytes, (ULONG)length);
}
END
fi

windows_tests() {
    /usr/bin/cargo test --locked --ignore-rust-version -Zbuild-std --target $triple --lib --bins --test windows "$@"
}

windows_tests --no-run
echo "under $(/usr/lib/wine/wine64 --version), with $($RUSTC --version | cut -d' ' -f1,2):"
log=$out/tests.log
status=0
windows_tests --quiet --no-fail-fast -- --format pretty "$@" 2>&1 | tee "$log" || status=1
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END { printf "test:windows: %d passed, %d failed, %d ignored\n", passed, failed, ignored }' "$log"
exit $status
