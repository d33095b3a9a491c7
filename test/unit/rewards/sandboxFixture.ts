import { type BubblewrapOptions, bubblewrapSandbox } from '../../../src/rewards/sandbox/bubblewrapSandbox.ts';
import type { Sandbox } from '../../../src/rewards/sandbox/sandbox.ts';

export interface TestSandbox {
	readonly sandbox: Sandbox;
	/** Of a suite: why it cannot run here; false: it can. */
	readonly skip: string | false;
}

/**
 * The sandbox that suites run in. Where bubblewrap does not work the suites say so and are skipped, except on continuous
 * integration on Linux, where it has to.
 */
export async function testSandbox(options: BubblewrapOptions = {}): Promise<TestSandbox> {
	try {
		return { sandbox: await bubblewrapSandbox(options), skip: false };
	} catch (error) {
		if (process.env.CI === 'true' && process.platform === 'linux') throw error;
		const missing = () => {
			throw error;
		};
		const sandbox: Sandbox = { kind: 'bubblewrap', description: '', gaps: [], missing, start: missing, run: missing };
		return { sandbox, skip: String(error) };
	}
}
