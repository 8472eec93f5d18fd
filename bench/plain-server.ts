/**
 * The least that a server on `node:http` can do: the same answer to whatever is asked.
 *
 * In: the path of its socket, a body. Only a server that reads HTTP by itself can be quicker.
 */

import { rmSync } from 'node:fs';
import { createServer } from 'node:http';

const [socket = '', body = ''] = process.argv.slice(2);
const headers = [
  'Content-Type',
  'application/json',
  'Content-Length',
  String(Buffer.byteLength(body)),
  'X-Softquota-Decision',
  'allowed',
];
rmSync(socket, { force: true });
createServer((_request, response) => {
  response.writeHead(200, headers);
  response.end(body);
}).listen(socket);
