import { Failure } from '../../base/failure.ts';
import { bubblewrapSandbox } from './bubblewrapSandbox.ts';
import { containerSandbox } from './containerSandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { parseSandboxMode, type SandboxMode, sandboxVariable } from './sandboxMode.ts';
import { unsafeSandbox } from './unsafeSandbox.ts';

/** Added to the reason if the reason alone does not make the consequence clear. */
const refused = 'Model-written code is not run without a sandbox';

/**
 * Returns the sandbox for a mode, after successfully running a program in it. Fails with `unavailable`, including a
 * reason and advice. Never falls back to weaker isolation.
 */
export async function findSandbox(
	mode: SandboxMode = parseSandboxMode(process.env[sandboxVariable]),
): Promise<Sandbox> {
	try {
		if (mode.kind === 'container') return await containerSandbox(mode.image);
		if (mode.kind === 'unsafe') return await unsafeSandbox();
		return await bubblewrapSandbox();
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason !== 'unavailable') throw failure;
		const reason = failure.message.replace(/\.$/, '');
		throw new Failure('unavailable', `${refused}: ${reason}.`, failure.action, { cause: error });
	}
}
