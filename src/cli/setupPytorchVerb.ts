import { resolve } from 'node:path';
import { formatBytes } from '../base/format.ts';
import { environmentState } from '../environment/environmentState.ts';
import { folderVariable, ManagedFolder } from '../environment/managedFolder.ts';
import { extraWords, setupExtras } from '../environment/setup/requirements.ts';
import {
	prepareSetup,
	removeEnvironment,
	type SetupOptions,
	setUpEnvironment,
} from '../environment/setup/setUpEnvironment.ts';
import { installerWishes, planSentence, type SetupPlan } from '../environment/setup/setupPlan.ts';
import { deviceWishes } from '../environment/setup/torchBuild.ts';

import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { choice, flag, type Options, path, repeatable, text } from './options.ts';
import { oneOf } from './parseArguments.ts';
import { defineVerb } from './verb.ts';
import { packageVersion } from './versionVerb.ts';

const options = {
	python: path('PATH', 'Python interpreter for creating the environment (default: the best one on this machine).'),
	device: choice(deviceWishes, 'DEVICE', 'torch build (default: auto, based on the hardware).'),
	with: repeatable(
		text('EXTRA', `Also install: ${setupExtras.map((extra) => `${extra} (${extraWords[extra]})`).join('; ')}.`),
	),
	installer: choice(installerWishes, 'NAME', 'Installer to use (default: auto).'),
	'index-url': text('URL', "Package index to use instead of the installer's default."),
	'pip-argument': repeatable(text('ARG', 'Additional argument for pip or uv pip, written as --pip-argument=ARG.')),
	requirements: path(
		'FOLDER',
		'Folder with requirement files for other versions: base.txt, ray.txt, gpu.txt, vllm.txt, qlora.txt, uv.txt.',
	),
	folder: path(
		'FOLDER',
		`Environment folder (default: the environment variable ${folderVariable}, else in the data folder).`,
	),
	plan: flag('Show what would be installed without installing it.'),
	again: flag('Recreate an existing environment.'),
	remove: flag('Remove the environment.'),
} as const satisfies Options;

export const setupPytorchVerb = defineVerb({
	name: 'setup-pytorch',
	group: 'Setup',
	summary: 'Create the Python environment for the PyTorch engine. Ctrl+C cancels the setup and undoes its changes.',
	options,
	async run({ values, output }) {
		const folder = ManagedFolder.at(values.folder === undefined ? null : resolve(values.folder));
		const abort = new AbortController();
		const stop = onInterrupt(() => abort.abort());
		const choices: SetupOptions = {
			folder,
			version: await packageVersion(),
			python: values.python ?? null,
			requirements: values.requirements === undefined ? null : resolve(values.requirements),
			extras: (values.with ?? [])
				.flatMap((names) => names.split(','))
				.map((name) => oneOf(name, setupExtras, '--with')),
			choices: {
				device: values.device ?? 'auto',
				installer: values.installer ?? 'auto',
				indexUrl: values['index-url'] ?? null,
				pipArguments: values['pip-argument'] ?? [],
			},
			signal: abort.signal,
		};
		try {
			if (values.remove) return await remove(folder, output);
			if (values.plan) {
				const { plan } = await prepareSetup(choices);
				showPlan(plan, output);
				for (const { program, args } of plan.commands) output.line(printable(`  ${[program, ...args].join(' ')}`));
				return 0;
			}
			const state = await environmentState(folder, choices.requirements ?? null);
			const missing =
				state.kind === 'ready' ? choices.extras.filter((extra) => !state.record.extras.includes(extra)) : [];
			if (state.kind === 'ready' && state.outdated.length === 0 && missing.length === 0 && !values.again) {
				output.object({ kind: 'ready', python: state.python, environment: state.record });
				output.line(`Already set up: ${state.python}`);
				output.line('Run reasoning-lab doctor to check it, or add --again to recreate it.');
				return 0;
			}
			return await setUp(choices, output);
		} finally {
			stop();
		}
	},
});

async function setUp(choices: SetupOptions, output: CliOutput): Promise<number> {
	let shown = '';
	let printed = -1;
	const result = await setUpEnvironment(choices, {
		onPlan: (plan, log) => {
			showPlan(plan, output);
			output.line(`Log: ${log}`);
			output.object({ kind: 'log', path: log });
		},
		onProgress: ({ message, fraction }) => {
			if (message === shown) return;
			shown = message;
			output.object({ kind: 'progress', message, fraction: Math.round(fraction * 1000) / 1000 });
			// Print once per percentage point, not once per resolved package.
			const percent = Math.floor(fraction * 100);
			if (percent === printed && message.includes(': ')) return;
			printed = percent;
			output.line(`${String(percent).padStart(3)}%  ${printable(message)}`);
		},
	});
	const { python, record, seconds, log, notes } = result;
	output.object({ kind: 'ready', python, environment: record, seconds: Math.round(seconds * 10) / 10, log, notes });
	for (const note of notes) output.line(printable(`Note: ${note}`));
	output.line(`Ready after ${Math.round(seconds)} s: ${python}`);
	return 0;
}

async function remove(folder: ManagedFolder, output: CliOutput): Promise<number> {
	const left = await removeEnvironment(folder);
	output.object({ kind: 'removed', folder: folder.path, left });
	output.line(`Removed ${folder.path}.`);
	if (left.length > 0) output.line(`Could not remove files in use by running programs: ${left.join(', ')}`);
	return 0;
}

function showPlan(plan: SetupPlan, output: CliOutput): void {
	const { commands, build, ...rest } = plan;
	output.object({ kind: 'plan', ...rest, build, commands: commands.map(({ title }) => title) });
	output.line(`${planSentence(plan)}.`);
	output.line(`Target folder: ${plan.folder}`);
	if (plan.diskBytes > 5e9) output.line(`This installs ${formatBytes(plan.diskBytes)} and can take a while.`);
	for (const note of plan.notes) output.line(printable(`Note: ${note}`));
}
