#!/bin/bash
# Builds the core for x86_64-pc-windows-gnu and runs its tests under wine. The README says what that proves.
#
# The machine's own Rust has no Windows target, and its standard library comes without sources. Debian's `rustc-web`
# (1.85) comes with them, so it builds library and tests with `-Zbuild-std`. It is older than this crate asks for: what
# has become stable since is switched on as a feature (FEATURES); and as its SSE2 calls are not yet safe ones, a copy of
# the sources is built that takes the portable search for brackets. Everything made here lies in `target/windows`.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(rustc-web cargo-web rust-web-src gcc-mingw-w64-x86-64-posix wine64)
FEATURES=let_chains,unsigned_is_multiple_of,slice_as_chunks,integer_sign_cast
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

# The compiler: features for those packages that ask for a newer one, to which `home_dir` is not deprecated any more.
cat >"$tools/rustc" <<END
#!/bin/bash
case \${CARGO_PKG_NAME:-} in
pipestate | proptest) exec "\$@" "-Zcrate-attr=feature($FEATURES)" -Adeprecated ;;
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

# The copy keeps the files' times, by which cargo tells what is stale.
source=$out/source
rm -rf "$source"
mkdir "$source"
git ls-files -z -c -o --exclude-standard | tar -c --null --verbatim-files-from -T - | tar -x -C "$source"
choice=src/document/block/mod.rs
sed -i 's/target_arch = "x86_64"/target_arch = "x86"/' "$source/$choice"
touch -r $choice "$source/$choice"
cd "$source"

exec /usr/bin/cargo check --locked --ignore-rust-version -Zbuild-std --target $triple --lib --bins
