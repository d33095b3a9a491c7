import { Failure } from '../../base/failure.ts';

/** Environment variable by which host processes and engines learn the mode. */
export const sandboxVariable = 'REASONING_LAB_SANDBOX';

/**
 * Where code of a model may run: `auto` (bubblewrap, else nowhere), `bubblewrap`, `container:<image>`, or `unsafe`: as a
 * plain process with limits, which isolates nothing.
 */
export type SandboxMode =
	| { readonly kind: 'auto' | 'bubblewrap' | 'unsafe' }
	| { readonly kind: 'container'; readonly image: string };

const imagePattern = /^[a-z0-9][\w.:/@-]{0,254}$/i;

/** Reads `auto`, `bubblewrap`, `container:<image>` or `unsafe`; nothing is `auto`. Fails with `invalid`. */
export function parseSandboxMode(text: string | undefined): SandboxMode {
	const mode = text?.trim() || 'auto';
	if (mode === 'auto' || mode === 'bubblewrap' || mode === 'unsafe') return { kind: mode };
	if (mode.startsWith('container:')) {
		const image = mode.slice('container:'.length);
		// A name that starts with a dash would be an option of the container engine.
		if (imagePattern.test(image)) return { kind: 'container', image };
		throw new Failure(
			'invalid',
			`The sandbox "${mode}" does not name a container image.`,
			'Use the form container:python:3.12-slim.',
		);
	}
	throw new Failure('invalid', `Unknown sandbox "${mode}".`, 'Choose auto, bubblewrap, container:<image> or unsafe.');
}
