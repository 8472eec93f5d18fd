/** Server-sent events. */

import type { Request, Response } from 'express';
import type { Following } from './route.ts';

/** Sends what is followed until the asker leaves; a HEAD gets the headers only. */
export function stream(request: Request, response: Response, { follow }: Following): void {
  response.status(200).set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  const end = follow(({ event, id, data }) => {
    response.write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  });
  response.on('close', end);
}
