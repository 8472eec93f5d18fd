/**
 * Listens on the socket `gate` that the service manager hands over, tells each who connects its names, and
 * ends when told to by a byte.
 */

import { createServer } from 'node:net';
import { inheritedSockets, listen } from '../../src/service/index.ts';

const sockets = inheritedSockets(process.env, process.pid);
const descriptor = sockets.get('gate');
if (descriptor === undefined) throw new Error('no socket was handed over');
const server = createServer(socket => {
  socket.write(`${[...sockets.keys()]} ${process.env.LISTEN_FDS}`);
  socket.once('data', () => {
    socket.end();
    server.close();
  });
});
const place = { path: '/nowhere', mode: 0o600, group: null, setting: '[server] SOCKET', descriptor };
const renewed = (path: string) => console.error(`renewed: ${path}`);
await listen(server, { ...place, watch: { everyMs: 60_000, renewed, lost: console.error } });
