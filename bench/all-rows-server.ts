/**
 * The page that a user would write instead of the web UI: a page whose script fetches all rows once, and goes
 * through them itself at each key. Both files are sent as they are, compressed once.
 *
 * In: the path of its socket, and that of the rows, JSON. At the socket it answers where a browser finds the
 * page.
 */

import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const [socket = '', rows = ''] = process.argv.slice(2);

const files = new Map([
  ['/', fileOf('text/html; charset=utf-8', readFileSync(new URL('./all-rows.html', import.meta.url)))],
  ['/rows.json', fileOf('application/json', readFileSync(rows))],
]);
const pages = createServer(({ url = '' }, response) => {
  const file = files.get(url);
  response.writeHead(file === undefined ? 404 : 200, file?.headers);
  response.end(file?.body);
});
pages.listen(0, '127.0.0.1');
await once(pages, 'listening');
const address = pages.address();
const port = typeof address === 'object' ? address?.port : undefined;

rmSync(socket, { force: true });
createServer((_request, response) => response.end(`http://127.0.0.1:${port}/`)).listen(socket);

function fileOf(type: string, content: Buffer) {
  const body = gzipSync(content);
  return {
    body,
    headers: { 'Content-Type': type, 'Content-Encoding': 'gzip', 'Content-Length': body.length },
  };
}
