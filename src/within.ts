/**
 * Waits so many milliseconds for an answer. If it has not come then, the result is `late`, and nobody hears
 * what becomes of the answer. Rejects as the answer does.
 */
export async function within<Answer, Late>(
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(resolve, milliseconds, late);
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}
