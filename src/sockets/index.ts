/**
 * Unix sockets, from the service manager or created as configured; and limits for the connections of every
 * server.
 *
 * A socket file of a dead daemon is replaced, a socket that a living process uses is not. A socket that
 * everybody could replace is refused. Errors of a path, a mode or a group are reported before the first
 * request.
 */

export { closeServer } from './closing.ts';
export { type ConnectionLimits, Connections, hasBody } from './connections.ts';
export {
  type ConnectionShares,
  connectionShares,
  enoughDescriptors,
  openFilesLimit,
  usualShares,
  watchDescriptors,
} from './descriptors.ts';
export { type Exposure, exposureOf } from './exposure.ts';
export { inheritedSockets, type SocketName } from './inherited.ts';
export { type Listening, listen, longestPathBytes, type SocketPlace } from './listen.ts';
