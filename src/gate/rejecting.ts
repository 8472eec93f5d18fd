/** Connections on which nothing more can be understood. */

import type { Duplex } from 'node:stream';
import { systemCode } from '../errors.ts';

/** Ends such a connection. Never by 413, which is a refusal and nothing else. */
export function rejectClient(error: Error, socket: Duplex): void {
  if (socket.writable)
    socket.write(`HTTP/1.1 ${statusLineOf(error)}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.destroy();
}

/** A request did not come whole in time; the same as what the server itself notices. */
export class OverdueError extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}

function statusLineOf(error: Error): string {
  switch (systemCode(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return '408 Request Timeout';
    case 'HPE_HEADER_OVERFLOW':
      return '431 Request Header Fields Too Large';
    default:
      return '400 Bad Request';
  }
}
