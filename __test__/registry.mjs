// A registry on loopback that serves tarballs, for as long as a test takes.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * `packages` are `{ description, tarball }`: a package.json, and the bytes of the tarball or null for one that is
 * announced but that nobody here may ask for. Gives the address, and the names whose tarballs were asked for.
 */
export async function registry(t, packages) {
  const fetched = [];
  const server = createServer((request, response) => {
    const [name, isTarball] = request.url.slice(1).split('/-/');
    const found = packages.find(({ description }) => description.name === name);
    if (isTarball) fetched.push(name);
    if (!found || (isTarball && !found.tarball)) return response.writeHead(404).end('{}');
    response.end(isTarball ? found.tarball : JSON.stringify(listing(found, request.headers.host)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { address: `http://127.0.0.1:${server.address().port}/`, fetched };
}

function listing({ description, tarball }, host) {
  const { name, version } = description;
  const digest = createHash('sha512').update(tarball ?? '').digest('base64');
  const dist = { tarball: `http://${host}/${name}/-/${name}-${version}.tgz`, integrity: `sha512-${digest}` };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...description, dist } } };
}
