import { type BubblewrapOptions, bubblewrapSandbox } from '../../../src/rewards/sandbox/bubblewrapSandbox.ts';
import type { Sandbox } from '../../../src/rewards/sandbox/sandbox.ts';

export interface TestSandbox {
	readonly sandbox: Sandbox;
	/** Reason that suites cannot run here, or false if they can. */
	readonly skip: string | false;
}

/**
 * Opens the sandbox that suites run in. Without a working bubblewrap, suites are skipped with a reason, except in CI on
 * Linux, where it is required.
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
