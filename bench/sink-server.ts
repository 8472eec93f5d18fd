/**
 * An LFS server that keeps nothing: it offers to take each object, and reads what comes.
 *
 * Out: its port, on a line.
 */

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const server = createServer(async (request, response) => {
  if (request.method === 'PUT') {
    request.on('end', () => response.writeHead(200).end()).resume();
    return;
  }
  const { objects } = JSON.parse(await text(request));
  const offered = objects.map((object: { readonly oid: string }) => ({
    ...object,
    actions: { upload: { href: `http://localhost/alice/app.git/info/lfs/objects/${object.oid}` } },
  }));
  response.writeHead(200, { 'Content-Type': 'application/vnd.git-lfs+json' });
  response.end(JSON.stringify({ transfer: 'basic', objects: offered }));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : '');
});
