import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { didYouMean } from '../core/recipe/suggest.ts';
import { type ExportTarget, exportTargets } from '../core/reward/export/exportTarget.ts';
import { adapterPath, exportRewardFile, writeAdapter } from '../rewards/exportRewardFile.ts';
import { rewardHostFolder } from '../rewards/rewardHostFolder.ts';
import { findRewardPrograms } from '../rewards/rewardPrograms.ts';
import { printable } from './cliOutput.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

const options = {
	to: { type: 'string' },
	out: { type: 'string' },
	reward: { type: 'string' },
	answer: { type: 'string' },
	conversational: { type: 'boolean' },
	python: { type: 'string' },
} as const;

export const exportRewardVerb: Verb = {
	name: 'export-reward',
	usage: '<reward file>',
	summary: 'Write a Python reward as a module of another trainer, and say what breaks there.',
	options: [
		['--to TRAINER', `One of ${exportTargets.join(', ')}.`],
		['--out PATH', 'The module; default: NAME_TRAINER.py beside the reward file.'],
		['--reward NAME', 'One reward of the file; default: all.'],
		['--answer COLUMN', 'Name under which the reward takes the right answer (default answer).'],
		['--conversational', 'The reward takes completions as lists of messages.'],
		['--python PATH', 'The Python that parses the file (default python3).'],
	],
	async run({ args, output }) {
		const { values, positionals } = parseArguments('export-reward', args, options, {
			names: ['a reward file'],
			least: 1,
			most: 1,
		});
		const target = exportTargets.find((name) => name === values.to) as ExportTarget | undefined;
		if (target === undefined) {
			throw new Failure(
				'invalid',
				`--to is ${values.to ?? 'missing'}.`,
				didYouMean(values.to ?? '', exportTargets) ?? `Name one of ${exportTargets.join(', ')}.`,
			);
		}
		const file = resolve(positionals[0] as string);
		const { python } = await findRewardPrograms({ python: values.python ?? null });
		const { text, findings, usage } = await exportRewardFile({
			file,
			target,
			names: values.reward === undefined ? [] : [values.reward],
			python,
			folder: rewardHostFolder(),
			...(values.answer === undefined ? {} : { answer: values.answer }),
			conversational: values.conversational ?? false,
		});
		const out = resolve(values.out ?? adapterPath(file, target));
		await writeAdapter(out, text);
		const use = usage(out);
		output.object({ file: out, target, usage: use, findings });
		for (const { severity, line, message, action } of findings) {
			output.line(printable(`${file}:${line}: ${severity}: ${message} ${action}`));
		}
		output.line(`${out}\n${use}`);
		return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
	},
};
