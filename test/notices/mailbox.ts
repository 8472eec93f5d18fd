/** A real SMTP server that keeps what it takes. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export interface Mail {
  /** The address of the envelope. */
  readonly to: string;
  readonly raw: string;
  readonly subject: string;
  /** The decoded parts. */
  readonly text: string;
  readonly html: string;
}

export interface MailboxOptions {
  readonly port?: number;
  /** Sign-in that every sender needs. */
  readonly user?: string;
  readonly password?: string;
  /**
   * A key and a certificate in PEM, and whether there is TLS from the first byte on; without it there is
   * none.
   */
  readonly tls?: { readonly key: string; readonly certificate: string; readonly isFirst: boolean };
}

export class Mailbox {
  readonly mails: Mail[] = [];
  /** While it is set, mails are refused with these words. */
  refuses: string | null = null;
  /** The names of those who tried to sign in, with or without success. */
  readonly signIns: string[] = [];
  /** Number of mails that came in clear. */
  inClear = 0;
  readonly #server: SMTPServer;

  private constructor({ user, password, tls }: MailboxOptions) {
    const hasStartTls = tls !== undefined && !tls.isFirst;
    this.#server = new SMTPServer({
      authOptional: user === undefined,
      allowInsecureAuth: tls === undefined,
      disabledCommands: [...(user === undefined ? ['AUTH'] : []), ...(hasStartTls ? [] : ['STARTTLS'])],
      ...(tls === undefined ? {} : { secure: tls.isFirst, key: tls.key, cert: tls.certificate }),
      onAuth: (auth, _session, done) => {
        this.signIns.push(String(auth.username));
        if (auth.username === user && auth.password === password) done(null, { user: auth.username });
        else done(new Error('wrong password'));
      },
      onData: async (stream, session, done) => {
        const raw = await text(stream);
        if (!session.secure) this.inClear += 1;
        if (this.refuses !== null) return done(new Error(this.refuses));
        for (const { address } of session.envelope.rcptTo) this.mails.push(mailIn(address, raw));
        done();
      },
    });
    // Clients that end in the middle are part of some tests.
    this.#server.on('error', () => {});
  }

  static async open(t: Test, options: MailboxOptions = {}): Promise<Mailbox> {
    const mailbox = new Mailbox(options);
    const server = mailbox.#server;
    await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', () => resolve()));
    t.teardown(() => new Promise<void>(resolve => server.close(() => resolve())));
    return mailbox;
  }

  get port(): number {
    // A server that listens on an address has one.
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** Takes the mails that came, in order, and forgets them. */
  take(): readonly Mail[] {
    return this.mails.splice(0);
  }
}

/** An SMTP server that accepts connections, and never says anything. */
export class SilentServer {
  /** Resolves once somebody has connected. */
  readonly connected: Promise<unknown>;
  readonly #server = createServer();

  private constructor() {
    this.connected = once(this.#server, 'connection');
  }

  static async open(t: Test): Promise<SilentServer> {
    const silent = new SilentServer();
    const sockets = new Set<Socket>();
    const server = silent.#server.on('connection', socket => sockets.add(socket.on('error', () => {})));
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return silent;
  }

  get port(): number {
    // A server that listens on an address has one.
    return (this.#server.address() as AddressInfo).port;
  }
}

function mailIn(to: string, raw: string): Mail {
  const [, boundary = ''] = /boundary="?([^"\s;]+)/.exec(raw) ?? [];
  const parts = raw.split(`--${boundary}`);
  const part = (type: string) => decoded(parts.find(each => each.includes(`Content-Type: ${type}`)) ?? '');
  const [, subject = ''] = /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(raw) ?? [];
  return {
    to,
    raw,
    subject: words(subject.replaceAll(/\r\n[ \t]/g, ' ')),
    text: part('text/plain'),
    html: part('text/html'),
  };
}

function decoded(part: string): string {
  const [head = '', ...body] = part.split('\r\n\r\n');
  const content = body.join('\n\n').replaceAll('\r\n', '\n');
  if (/base64/i.test(head)) return Buffer.from(content, 'base64').toString('utf8');
  if (!/quoted-printable/i.test(head)) return content;
  return quoted(content.replaceAll('=\n', ''));
}

function quoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** RFC 2047. */
function words(subject: string): string {
  return subject.replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=\s?/gi, (_, way, text) =>
    way.toUpperCase() === 'B'
      ? Buffer.from(text, 'base64').toString('utf8')
      : quoted(text.replaceAll('_', ' ')),
  );
}
