/**
 * Delay of each frame and message in milliseconds, as on a busy machine; 0 for none. Reveals tests that inspect a page
 * without waiting for a redraw.
 */
export const lateMs = Number(process.env.TEST_LATE ?? 0);

/** Returns a time limit in milliseconds that also suffices if frames and messages are late. */
export const patience = (ms: number): number => (lateMs === 0 ? ms : 4 * ms);

/**
 * Repeats an assertion about a page or its panel until it holds, because commands, requests and redraws come some time
 * after the click that causes them. @throws the last error, after ten seconds
 */
export async function soon(assertion: () => void | Promise<void>): Promise<void> {
	for (const end = Date.now() + patience(10_000); ; ) {
		try {
			await assertion();
			return;
		} catch (error) {
			if (Date.now() >= end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}
