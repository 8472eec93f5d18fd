/**
 * Waits so many milliseconds for an answer. If it has not come then, the result is `late`, and nobody hears
 * what becomes of the answer. A process that was held up longer than that first reads what came meanwhile.
 * Rejects as the answer does.
 */
export async function within<Answer, Late>(
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  // Timers come before what is to be read: so this one waits until that was read.
  const timer = setTimeout(() => setImmediate(resolve, late), milliseconds);
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}
