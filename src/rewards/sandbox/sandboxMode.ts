import { Failure } from '../../base/failure.ts';

/** Environment variable that passes the mode to host processes and engines. */
export const sandboxVariable = 'REASONING_LAB_SANDBOX';

/**
 * Where model-written code may run: `auto` (bubblewrap, or not at all), `bubblewrap`, `container:<image>`, or `unsafe`
 * for a plain process with limits but no isolation.
 */
export type SandboxMode =
	| { readonly kind: 'auto' | 'bubblewrap' | 'unsafe' }
	| { readonly kind: 'container'; readonly image: string };

const imagePattern = /^[a-z0-9][\w.:/@-]{0,254}$/i;

/** Parses `auto`, `bubblewrap`, `container:<image>` or `unsafe`. An empty value means `auto`. Fails with `invalid`. */
export function parseSandboxMode(text: string | undefined): SandboxMode {
	const mode = text?.trim() || 'auto';
	if (mode === 'auto' || mode === 'bubblewrap' || mode === 'unsafe') return { kind: mode };
	if (mode.startsWith('container:')) {
		const image = mode.slice('container:'.length);
		// A name that starts with a dash would be parsed as an option by the container engine.
		if (imagePattern.test(image)) return { kind: 'container', image };
		throw new Failure(
			'invalid',
			`Sandbox "${mode}" does not specify a container image.`,
			'Use the format container:python:3.12-slim.',
		);
	}
	throw new Failure('invalid', `Unknown sandbox "${mode}".`, 'Choose auto, bubblewrap, container:<image> or unsafe.');
}
