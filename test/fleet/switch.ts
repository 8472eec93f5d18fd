/** A way to one of several TCP servers of this host, that loses and delays what goes through it. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export interface Switch {
  readonly port: number;
  /** Ends all connections; the next ones lead to this port. */
  lead(port: number): void;
  /** The next answer is lost, and its connection with it. */
  loseAnswer(): void;
  /** Delays each piece by so many milliseconds from now on. */
  delay(ms: number): void;
}

/** Ends with the test. */
export async function openSwitch(t: Test, first: number): Promise<Switch> {
  let target = first;
  let isLosing = false;
  let delayMs = 0;
  const open = new Set<Socket>();
  const endAll = () => {
    for (const socket of open) socket.destroy();
  };
  const carry = (from: Socket, to: Socket, isAnswer: boolean) => {
    open.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
    from.on('data', (piece: Buffer) => {
      if (isAnswer && isLosing) {
        isLosing = false;
        to.destroy();
        return;
      }
      const pass = () => to.writable && to.write(piece);
      if (delayMs === 0) pass();
      else setTimeout(pass, delayMs);
    });
  };
  const server = createServer(here => {
    const there = connect(target, '127.0.0.1');
    carry(here, there, false);
    carry(there, here, true);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    const closed = once(server, 'close');
    server.close();
    endAll();
    await closed;
  });
  const address = server.address() as AddressInfo; // as it is of every TCP server that listens
  return {
    port: address.port,
    lead: port => {
      target = port;
      endAll();
    },
    loseAnswer: () => {
      isLosing = true;
    },
    delay: ms => {
      delayMs = ms;
    },
  };
}
