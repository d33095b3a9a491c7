import { completionScript, shells } from './completion/completionScript.ts';
import { defineVerb, type Verb } from './verb.ts';

/** Creates the `completion` verb. @param allVerbs all verbs to complete, including this one */
export const completionVerb = (allVerbs: () => Promise<Verb[]>) =>
	defineVerb({
		name: 'completion',
		group: 'Setup',
		arguments: [{ name: 'shell', phrase: 'bash, zsh, or fish', type: shells }],
		summary: 'Print the shell completion script (docs/cli.md).',
		async run({ positionals, output }) {
			const shell = positionals[0] as (typeof shells)[number];
			const script = completionScript(shell, await allVerbs());
			output.object({ shell, script });
			output.document(script.trimEnd());
			return 0;
		},
	});
