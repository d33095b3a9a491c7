import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { exportTargets } from '../core/reward/export/exportTarget.ts';
import { adapterPath, exportRewardFile, writeAdapter } from '../rewards/exportRewardFile.ts';
import { rewardHostFolder } from '../rewards/rewardHostFolder.ts';
import { findRewardPrograms } from '../rewards/rewardPrograms.ts';
import { printable } from './cliOutput.ts';
import { choice, flag, type Options, path, text } from './options.ts';
import { defineVerb } from './verb.ts';

const options = {
	to: choice(exportTargets, 'TRAINER', 'Target trainer. Required.'),
	out: path('PATH', 'Output module (default: NAME_TRAINER.py next to the reward file).'),
	reward: text('NAME', 'Export only this reward (default: all rewards in the file).'),
	answer: text('COLUMN', 'Name of the argument for the gold answer (default: answer).'),
	conversational: flag('Pass completions to the reward as message lists.'),
	python: path('PATH', 'Python interpreter for parsing the file (default: python3).'),
} as const satisfies Options;

export const exportRewardVerb = defineVerb({
	name: 'export-reward',
	group: 'Rewards',
	arguments: [{ name: 'reward file', phrase: 'a reward file', type: 'path' }],
	summary: 'Export a Python reward as a module for another trainer, and list what will not work there.',
	options,
	async run({ values, positionals, output }) {
		const { to: target } = values;
		if (target === undefined) {
			throw new Failure('invalid', '--to is required.', `Choose one of ${exportTargets.join(', ')}.`);
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
});
