/**
 * The server that a user would write instead, to have several servers decide by one quota: a server that asks
 * Redis at each check.
 *
 * In: the path of its socket, the port of Redis. One hash an owner, with its limit and what it stores by kind
 * of data: one question to Redis for each check, and ioredis sends those of a moment together.
 */

import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { Redis } from 'ioredis';

const [socket = '', port = ''] = process.argv.slice(2);
const redis = new Redis({ port: Number(port), host: '127.0.0.1', db: 1, enableAutoPipelining: true });

rmSync(socket, { force: true });
createServer(async (request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const { limit = '-1', ...stored } = await redis.hgetall(`owner:${searchParams.get('owner')}`);
  const used = Object.values(stored).reduce((sum, bytes) => sum + Number(bytes), 0);
  const allowed = Number(limit) === -1 || used <= Number(limit);
  const body = JSON.stringify({ allowed, used, limit: Number(limit) });
  response.writeHead(allowed ? 200 : 413, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
  ]);
  response.end(body);
}).listen(socket);
