/** `POST /v1/push` as HTTP. The answer is always the text that the hook shows. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { SoftquotaError } from '../../errors.ts';
import { faultReply } from '../answer.ts';
import { bodyOf } from '../request.ts';
import type { GateServices } from '../services.ts';
import type { BodyRoom } from './body-room.ts';
import { longestPushBytes } from './fields.ts';

export const pushAddress = '/v1/push';

/** Never rejects. */
export async function answerPush(
  { pushQuestions, unforeseen }: Pick<GateServices, 'pushQuestions' | 'unforeseen'>,
  room: BodyRoom,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      request.resume();
      throw new SoftquotaError('wrong_method', `${pushAddress} takes POST`);
    }
    const leave = await room.enter(request);
    try {
      const { status, text } = await pushQuestions.answer(await bodyOf(request, longestPushBytes));
      send(response, status, text);
    } finally {
      leave();
    }
  } catch (error) {
    const { status, text } = faultReply(error, unforeseen);
    send(response, status, `softquota: ${text()}`);
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(text)),
  ]);
  response.end(text);
}
