import { Failure } from '../../base/failure.ts';
import { bubblewrapSandbox } from './bubblewrapSandbox.ts';
import { containerSandbox } from './containerSandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { parseSandboxMode, type SandboxMode, sandboxVariable } from './sandboxMode.ts';
import { unsafeSandbox } from './unsafeSandbox.ts';

/** Says what follows, where the reason alone does not. */
const refused = 'Model-written code is not run without a sandbox';

/**
 * The sandbox of a mode, after it has really run a program. Fails with `unavailable`, a reason and what to do; never
 * falls back to something weaker.
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
