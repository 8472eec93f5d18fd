/** The keys of the daemon itself: its sockets, store, secrets, disks, metrics and log. */

import { redisAddressIn } from '../network.ts';
import { writeSize } from '../text.ts';
import { key, keysOf } from './key.ts';
import * as kind from './kinds.ts';

/** A group of the system. It must not begin with `-`: chown takes -1 for no change. */
const group = kind.optional(
  kind.matching(/^[^-:,/\p{Cc}][^:,/\p{Cc}]*$/u, 'not a group', "Write a group's name or number"),
);

const mode: kind.ValueType<number> = {
  expected: 'Write three octal digits after a 0, such as 0660',
  parse: text =>
    /^0?[0-7]{3}$/.test(text.trim())
      ? { ok: true, value: Number.parseInt(text, 8) }
      : { ok: false, problem: 'not a mode' },
  print: bits => bits.toString(8).padStart(4, '0'),
};

/** An address for browsers, with the slash that other addresses are appended to. */
const webAddress: kind.ValueType<string> = {
  expected: 'Write an address such as https://git.example/quota/, with nothing after the path',
  parse: text => {
    const written = text.trim();
    const url = /^https?:\/\//i.test(written) ? URL.parse(written) : null;
    if (url === null) return { ok: false, problem: 'not an http or https address' };
    // An empty query or fragment shows in the text only.
    if (/[?#]/.test(written)) return { ok: false, problem: 'an address with a query or a fragment' };
    if (/^[^/]*\/\/[^/]*@/.test(written)) return { ok: false, problem: 'an address with a user' };
    return { ok: true, value: url.href.replace(/\/?$/, '/') };
  },
  print: text => text,
};

export const server = keysOf('server', {
  dataPath: key('DATA_PATH', kind.path, {
    text: './data',
    doc: "The directory for the daemon's data, and for its sockets unless they have their own paths.",
  }),
  socket: key('SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/gate.sock',
    doc: 'The gate: the Unix socket that hooks and upload handlers ask. The system takes at most 107 bytes for a path of a socket (macOS 103). Its directory, and those above it, must not be writable by everybody: otherwise anybody could replace the socket.',
    example: '/run/softquota/gate.sock',
  }),
  socketMode: key('SOCKET_MODE', mode, {
    text: '0660',
    doc: 'The permissions of SOCKET; users with write permission can ask.',
  }),
  socketGroup: key('SOCKET_GROUP', group, {
    words: "the daemon's own",
    doc: 'The group of SOCKET: the group that the git server runs with.',
    example: 'git',
  }),
  trustedSocket: key('TRUSTED_SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/trusted.sock',
    doc: 'The socket for programs that may report usage. With it, a program can change the usage of every owner.',
    example: '/run/softquota/trusted.sock',
  }),
  trustedMode: key('TRUSTED_MODE', mode, {
    text: '0600',
    doc: 'The permissions of TRUSTED_SOCKET.',
  }),
  trustedGroup: key('TRUSTED_GROUP', group, {
    words: "the daemon's own",
    doc: 'The group of TRUSTED_SOCKET.',
    example: 'forge',
  }),
  adminSocket: key('ADMIN_SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/admin.sock',
    doc: 'The socket for the administrator of this host, always with mode 0600; the commands use it.',
    example: '/run/softquota/admin.sock',
  }),
  httpAddr: key('HTTP_ADDR', kind.listenAddress, {
    text: '127.0.0.1',
    doc: 'The address of the HTTP API and the web UI.',
  }),
  httpPort: key('HTTP_PORT', kind.wholeNumber(0, 65_535), {
    text: '3080',
    doc: 'The port of the HTTP API and the web UI; 0 uses a free port.',
  }),
  rootUrl: key('ROOT_URL', kind.optional(webAddress), {
    words: 'http://HTTP_ADDR:HTTP_PORT/',
    doc: 'The URL at which browsers reach the daemon; it can have a path.',
    example: 'https://git.example/quota/',
    secret: 'password',
  }),
  trustedProxies: key('TRUSTED_PROXIES', kind.networks, {
    doc: 'The addresses and networks of trusted proxies. Their X-Forwarded-For is used, so that wrong tokens count against their senders and not against the proxy. They may ask at `[gate] PORT`.',
    example: '127.0.0.1, 10.0.0.0/8',
  }),
  hostId: key(
    'HOST_ID',
    kind.optional(
      kind.matching(
        /^[A-Za-z0-9._-]{1,64}$/,
        'not a host id',
        'Write at most 64 letters, digits, dots, - or _',
      ),
    ),
    {
      words: 'random, kept in DATA_PATH',
      doc: "The name for this host's part of the usage. It is required with `[store] ADAPTER = redis`, and must be different on each host.",
      example: 'git1',
    },
  ),
});

/** Address of the shared store. The password in it must not be shown: see `secret`. */
const storeAddress: kind.ValueType<string> = kind.textKind(text => {
  if (/^redis\+cluster:/i.test(text))
    return 'a Redis Cluster, which softquota cannot use any more (docs/redis.md)';
  return redisAddressIn(text) === null ? 'not an address of a store' : null;
}, 'Write redis://HOST:PORT/DATABASE, rediss:// for TLS, or redis+sentinel://H1:P,H2:P/MASTER/0, each with USER:PASSWORD@, percent-encoded, before the host where needed');

export const store = keysOf('store', {
  adapter: key('ADAPTER', kind.oneOf(['sqlite', 'redis']), {
    text: 'sqlite',
    doc: 'Where policy and usage are stored: `sqlite` in DATA_PATH, `redis` on a server that several hosts share.',
  }),
  host: key('HOST', storeAddress, {
    text: 'redis://127.0.0.1:6379/0',
    doc: 'The address of the Redis server, with `USER:PASSWORD@` before the host if needed. Not used with `sqlite`.',
    secret: 'password',
  }),
  waitReplicas: key('WAIT_REPLICAS', kind.wholeNumber(0, 64), {
    text: '0',
    doc: 'The number of Redis replicas that must have a policy change before it is acknowledged. Not used with `sqlite`.',
  }),
  prefix: key(
    'PREFIX',
    kind.matching(/^[A-Za-z0-9_-]{1,64}$/, 'not a prefix', 'Write at most 64 letters, digits, - or _'),
    {
      text: 'softquota',
      doc: 'The beginning of every Redis key and channel. Not used with `sqlite`.',
    },
  ),
});

const shortestKey = 32;

const secretKeys = kind.secrets(
  /[,\r\n]/,
  secret => secret.length >= shortestKey,
  'too short',
  `Write at least ${shortestKey} characters without a comma; previous keys of that length can follow, separated by commas`,
);

export const security = keysOf('security', {
  secretKeys: key('SECRET_KEY', secretKeys, {
    words: 'made at the first start, kept in DATA_PATH/secret.key',
    doc: 'The key that encrypts stored secrets: at least 32 characters. After it, separated by commas, previous keys, which can still decrypt. It is required with `[store] ADAPTER = redis`, and must be the same on each host.',
    secret: 'whole',
  }),
});

/** Free space: bytes, or percent of the whole. */
type FreeSpaceSetting = { readonly bytes: number } | { readonly percent: number };

const freeSpace: kind.ValueType<FreeSpaceSetting> = {
  expected: 'Write a percentage below 100, such as 5%, or a number and a unit, such as 20G',
  parse: text => {
    const [, percent] = /^(\d{1,2}(?:\.\d{1,3})?) ?%$/.exec(text.trim()) ?? [];
    const amount =
      percent === undefined ? kind.limit.parse(text) : { ok: true as const, value: Number(percent) };
    if (!amount.ok) return amount;
    if (amount.value <= 0) return { ok: false, problem: 'not above 0' };
    return { ok: true, value: percent === undefined ? { bytes: amount.value } : { percent: amount.value } };
  },
  print: space => ('percent' in space ? `${space.percent}%` : writeSize(space.bytes)),
};

export const disk = keysOf('disk', {
  minFree: key('MIN_FREE', kind.optional(freeSpace), {
    doc: 'As much stays free on each file system with storage: with less, everything that grows there is refused, whatever the limits are. A percentage counts for bytes and for files (inodes), a size only for bytes. With less than twice that, administrators are warned: in the log, by `softquota doctor` and on the overview.',
    example: '5%',
  }),
});

export const metrics = keysOf('metrics', {
  enabled: key('ENABLED', kind.flag, {
    text: 'false',
    doc: '`true` counts, and serves metrics for Prometheus at `/metrics` of the HTTP API.',
  }),
  token: key(
    'TOKEN',
    kind.optional(
      kind.matching(/^[!-~]{16,}$/, 'no token', 'Write 16 or more letters, digits or signs', text => text),
    ),
    {
      doc: 'Whoever reads the metrics sends it: `Authorization: Bearer TOKEN`. Without it, only programs of this host can read them, also a proxy that adds no X-Forwarded-For, and the administrator on ADMIN_SOCKET.',
      secret: 'whole',
    },
  ),
});

export const log = keysOf('log', {
  level: key('LEVEL', kind.oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), {
    text: 'info',
    doc: 'The lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  }),
  format: key('FORMAT', kind.oneOf(['json', 'pretty']), {
    text: 'json',
    doc: '`json` for programs, `pretty` for people.',
    restarts: true,
  }),
});
