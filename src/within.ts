/**
 * Waits for an answer for at most so many milliseconds, then returns `late` and ignores the answer. Rejects
 * as the answer does. If the process itself was blocked for longer, an answer that arrived meanwhile counts.
 */
export async function within<Answer, Late>(
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  // The event loop runs timers before it reads sockets; setImmediate runs after reading.
  const timer = setTimeout(() => setImmediate(resolve, late), milliseconds);
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}
