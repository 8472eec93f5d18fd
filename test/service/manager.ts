/** A service manager's ear: the datagram socket that NOTIFY_SOCKET names, and what came there. */

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';

/**
 * Writes a line of JSON for each datagram. The descriptor that systemd-notify waits for is dropped: it was
 * heard.
 */
const ear = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('up', flush=True)
while True:
    print(json.dumps(s.recv(65536).decode()), flush=True)
`;

export class Manager {
  readonly socket: string;
  /** Each with its assignments; what systemd-notify says for itself is left out. */
  readonly notices: (readonly string[])[] = [];
  readonly #heard = new EventEmitter();

  private constructor(socket: string) {
    this.socket = socket;
  }

  static async open(t: Test, socket: string): Promise<Manager> {
    const child = spawn('python3', ['-c', ear, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    const manager = new Manager(socket);
    const lines = createInterface({ input: child.stdout });
    await once(lines, 'line');
    lines.on('line', line => manager.#take(String(JSON.parse(line)).split('\n')));
    return manager;
  }

  /** Resolves with the first one that has this assignment, now or later, from the given place on. */
  async told(assignment: string | RegExp, from = 0): Promise<readonly string[]> {
    const isIt = (each: string) =>
      typeof assignment === 'string' ? each === assignment : assignment.test(each);
    for (;;) {
      const found = this.notices.slice(from).find(notice => notice.some(isIt));
      if (found !== undefined) return found;
      await once(this.#heard, 'notice');
    }
  }

  /** All assignments but the status, in the order in which they came. */
  get order(): readonly string[] {
    return this.notices.flat().filter(each => !each.startsWith('STATUS='));
  }

  #take(lines: readonly string[]): void {
    const notice = lines.filter(line => line !== '' && !line.startsWith('BARRIER='));
    if (notice.length === 0) return;
    this.notices.push(notice);
    this.#heard.emit('notice');
  }
}
