/**
 * Unix sockets: taken over from the service manager, or made where the configuration says; and the
 * connections of whatever listens: how many there may be, and how they end.
 *
 * A socket file that a dead daemon left is replaced, one that a living process answers on is not. One that
 * everybody could put in the place of ours is refused. Whatever is wrong with a path, a mode or a group is
 * said before anybody is served.
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
