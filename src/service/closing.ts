/**
 * Ends a server so that whoever had connected is answered.
 *
 * Connections wait in the system's queue until they are accepted. A listening socket that closes resets all
 * of them, and who is reset takes it for a daemon that fell over.
 */

import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from './connections.ts';

interface Closing {
  readonly server: Server;
  readonly connections: Connections;
  /**
   * Has nobody connect any more who has not begun to; false: it cannot, others go on handing connections
   * over.
   */
  readonly withdraw: () => boolean;
  /** Milliseconds that requests under way have to end. */
  readonly drainMs: number;
}

/** Nobody came for so long: the queue is empty. */
const quietMs = 20;

export async function closeServer({ server, connections, withdraw, drainMs }: Closing): Promise<void> {
  const end = performance.now() + drainMs;
  connections.drain();
  if (withdraw()) {
    let before: number;
    do {
      before = connections.accepted;
      await sleep(quietMs);
      // Waiting connections are accepted after a timer that is late because the loop was held up.
      await nextTurn();
    } while (connections.accepted !== before && performance.now() < end);
  }
  const closed = new Promise(resolve => server.close(resolve));
  const overdue = setTimeout(() => server.closeAllConnections(), Math.max(0, end - performance.now()));
  await closed;
  clearTimeout(overdue);
}
