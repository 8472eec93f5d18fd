/** Where a request seems to come from. */

/**
 * The address alone, where a proxy wrote the port that it was called from, too: `203.0.113.7:4711`, `[2001:db8::1]:443`.
 * What has several colons and no brackets is an IPv6 address by itself.
 */
export function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}
