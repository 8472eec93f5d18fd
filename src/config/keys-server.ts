/** The keys of the daemon itself: its sockets, its store, its secrets, what it tells of itself. */

import { z } from 'zod';
import { listenAddress, network, storeAddress, webAddress } from './addresses.ts';
import { logLevels } from './config.ts';
import { keysOfSection } from './key.ts';
import * as kind from './kinds.ts';

const group = kind.optional(kind.systemGroup);

const serverKey = keysOfSection('server');

export const server = {
  dataPath: serverKey('DATA_PATH', kind.path, {
    text: './data',
    doc: 'The folder of what the daemon keeps, and of its sockets unless they are named.',
    of: config => config.server.dataPath,
  }),
  socket: serverKey('SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/gate.sock',
    doc: 'The gate: the Unix socket that hooks and upload handlers ask. The system takes at most 107 bytes for a path of a socket (macOS 103). Its directory, and those above it, must not be open to everybody: who may write there could put a gate of their own in its place.',
    example: '/run/softquota/gate.sock',
    of: config => config.server.socket,
  }),
  socketMode: serverKey('SOCKET_MODE', kind.mode, {
    text: '0660',
    doc: 'The permissions of SOCKET; who may write to it may ask.',
    of: config => config.server.socketMode,
  }),
  socketGroup: serverKey('SOCKET_GROUP', group, {
    words: "the daemon's own",
    doc: 'The group of SOCKET: the one that the git server runs with.',
    example: 'git',
    of: config => config.server.socketGroup,
  }),
  trustedSocket: serverKey('TRUSTED_SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/trusted.sock',
    doc: 'The gate for programs that may report usage. On it they can change what counts against anybody.',
    example: '/run/softquota/trusted.sock',
    of: config => config.server.trustedSocket,
  }),
  trustedMode: serverKey('TRUSTED_MODE', kind.mode, {
    text: '0600',
    doc: 'The permissions of TRUSTED_SOCKET.',
    of: config => config.server.trustedMode,
  }),
  trustedGroup: serverKey('TRUSTED_GROUP', group, {
    words: "the daemon's own",
    doc: 'The group of TRUSTED_SOCKET.',
    example: 'forge',
    of: config => config.server.trustedGroup,
  }),
  adminSocket: serverKey('ADMIN_SOCKET', kind.optional(kind.path), {
    words: 'DATA_PATH/admin.sock',
    doc: "The socket of this host's administrator, always of mode 0600; the commands use it.",
    example: '/run/softquota/admin.sock',
    of: config => config.server.adminSocket,
  }),
  httpAddr: serverKey('HTTP_ADDR', listenAddress, {
    text: '127.0.0.1',
    doc: 'The address that HTTP is served on.',
    of: config => config.server.httpAddr,
  }),
  httpPort: serverKey('HTTP_PORT', kind.wholeNumber(0, 65_535), {
    text: '3080',
    doc: 'The port that HTTP is served on; 0 picks a free one.',
    of: config => config.server.httpPort,
  }),
  rootUrl: serverKey('ROOT_URL', kind.optional(webAddress), {
    words: 'http://HTTP_ADDR:HTTP_PORT/',
    doc: 'The address that browsers reach the daemon by; it may have a path.',
    example: 'https://git.example/quota/',
    secret: 'password',
    of: config => config.server.rootUrl,
  }),
  trustedProxies: serverKey(
    'TRUSTED_PROXIES',
    kind.listOf(
      network,
      'Write IP addresses and networks with commas between, such as 127.0.0.1, 10.0.0.0/8',
    ),
    {
      words: 'none',
      doc: 'The addresses and networks of proxies whose X-Forwarded-For is believed, so that wrong tokens count against those who send them and not against the proxy.',
      example: '127.0.0.1, 10.0.0.0/8',
      of: config => config.server.trustedProxies,
    },
  ),
  hostId: serverKey(
    'HOST_ID',
    kind.optional(
      kind.textKind(
        z
          .string()
          .trim()
          .regex(/^[A-Za-z0-9._-]{1,64}$/, 'not a host id'),
        'Write at most 64 letters, digits, dots, - or _',
      ),
    ),
    {
      words: 'random, kept in DATA_PATH',
      doc: "The name of this host's part of the usage. With `[store] ADAPTER = redis` it must be given, and be another one on each host.",
      example: 'git1',
      of: config => config.server.hostId,
    },
  ),
};

const storeKey = keysOfSection('store');

export const store = {
  adapter: storeKey('ADAPTER', kind.oneOf(['sqlite', 'redis']), {
    text: 'sqlite',
    doc: 'Where policy and usage are kept: `sqlite` in DATA_PATH, `redis` on a server that several hosts share.',
    of: config => config.store.adapter,
  }),
  host: storeKey('HOST', storeAddress, {
    text: 'redis://127.0.0.1:6379/0',
    doc: 'The address of the Redis server, with `USER:PASSWORD@` before the host where needed. Not used with `sqlite`.',
    secret: 'password',
    of: config => config.store.host,
  }),
  waitReplicas: storeKey('WAIT_REPLICAS', kind.wholeNumber(0, 64), {
    text: '0',
    doc: 'How many Redis replicas must have a change of policy before it is acknowledged. Not used with `sqlite`.',
    of: config => config.store.waitReplicas,
  }),
  prefix: storeKey(
    'PREFIX',
    kind.textKind(
      z
        .string()
        .trim()
        .regex(/^[A-Za-z0-9_-]{1,64}$/, 'not a prefix'),
      'Write at most 64 letters, digits, - or _',
    ),
    {
      text: 'softquota',
      doc: 'What every Redis key and channel begins with. Not used with `sqlite`.',
      of: config => config.store.prefix,
    },
  ),
};

const securityKey = keysOfSection('security');

export const security = {
  secretKeys: securityKey('SECRET_KEY', kind.secretKeys, {
    words: 'made at the first start, kept in DATA_PATH/secret.key',
    doc: 'What the secrets that the daemon keeps are encrypted with: at least 32 characters. Behind it, by commas, previous keys, which are still read. With `[store] ADAPTER = redis` it must be given, the same on each host.',
    secret: 'whole',
    of: config => config.security.secretKeys,
  }),
};

const logKey = keysOfSection('log');

export const log = {
  level: logKey('LEVEL', kind.oneOf(logLevels), {
    text: 'info',
    doc: 'The least weight of what is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
    reloads: true,
    of: config => config.log.level,
  }),
  format: logKey('FORMAT', kind.oneOf(['json', 'pretty']), {
    text: 'json',
    doc: '`json` for programs, `pretty` for people.',
    of: config => config.log.format,
  }),
};
