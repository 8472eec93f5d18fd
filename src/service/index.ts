/**
 * The daemon as a service of its host: its log, its messages to the service manager, its Unix sockets, and
 * limits for the connections of every server.
 *
 * Reports to the service manager are checked first: before the daemon is reported ready, the gate has
 * answered a request over a connection of its own. Sockets come from the service manager, or are created as
 * configured. A socket file of a dead daemon is replaced, a socket that a living process uses is not. A
 * socket that everybody could replace is refused. Errors of a path, a mode or a group are reported before
 * the first request.
 */

export {
  type ConnectionLimits,
  type ConnectionShares,
  Connections,
  comesFrom,
  connectionShares,
  enoughDescriptors,
  hasBody,
  openFilesLimit,
  type Rejection,
  rejectConnection,
  usualShares,
  watchDescriptors,
} from './connections.ts';
export { exposureOf } from './exposure.ts';
export {
  type AddressPlace,
  inheritedSockets,
  type Listening,
  listen,
  listenAt,
  type SocketName,
  type SocketPlace,
  type SocketWatch,
} from './listen.ts';
export { createLogger, type Logger } from './logger.ts';
export { Supervision } from './supervision.ts';
