import { formatBytes } from '../base/format.ts';
import { type GpuSetupPlan, planGpuSetup, removeGpu, setUpGpu } from '../environment/gpu/gpuSetup.ts';
import { GpuRuntimeFolder } from '../runs/gpuRuntimeFolder.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, type Options, text } from './options.ts';
import { defineVerb } from './verb.ts';

const options = {
	'index-url': text('URL', "Package index to use instead of pip's."),
	plan: flag('Show what would be downloaded without downloading it.'),
	again: flag('Repeat the setup even if it has already been done.'),
	'without-gpu': flag('Set up even if this machine has no NVIDIA GPU, for example to build an image.'),
	remove: flag('Remove the CUDA runtime and unfinished downloads.'),
} as const satisfies Options;

export const setupGpuVerb = defineVerb({
	name: 'setup-gpu',
	group: 'Setup',
	summary:
		'Download the CUDA provider, which lets the embedded engine use NVIDIA GPUs. Ctrl+C cancels the setup; running it again continues the downloads.',
	options,
	async run({ values, output }) {
		const folder = GpuRuntimeFolder.at();
		if (values.remove) {
			await removeGpu(folder);
			output.object({ kind: 'removed', folder: folder.path });
			output.line(`Removed ${folder.runtime}.`);
			return 0;
		}
		const known = await folder.current();
		if (known !== null && !values.again && !values.plan) {
			output.object({ kind: 'ready', folder: folder.runtime, runtime: known });
			output.line(`Already set up: ${folder.runtime}`);
			output.line('Run reasoning-lab doctor to check it, or add --again to repeat the download.');
			return 0;
		}
		const abort = new AbortController();
		const stop = onInterrupt(() => abort.abort());
		try {
			const setup = {
				folder,
				indexUrl: values['index-url'] ?? null,
				withoutGpu: values['without-gpu'] === true,
				signal: abort.signal,
			};
			const plan = await planGpuSetup(setup);
			showPlan(plan, output);
			if (values.plan) return 0;
			let shown = '';
			const runtime = await setUpGpu(setup, plan, ({ message, fraction }) => {
				const line = `${String(Math.floor(100 * fraction)).padStart(3)}%  ${printable(message)}`;
				if (line === shown) return;
				shown = line;
				output.object({ kind: 'progress', message, fraction: Math.round(fraction * 1000) / 1000 });
				output.line(line);
			});
			output.object({ kind: 'ready', folder: folder.runtime, runtime });
			output.line(`Ready: ${folder.runtime}`);
			output.line('Set "device" to "cuda" or "auto" in a recipe. To check its results, run reasoning-lab doctor.');
			return 0;
		} finally {
			stop();
		}
	},
});

function showPlan({ gpu, index, wheels, bytes, folder }: GpuSetupPlan, output: CliOutput): void {
	const files = wheels.map(({ file, bytes }) => ({ file, bytes }));
	output.object({ kind: 'plan', gpu, index: index.url, files, bytes, folder });
	output.line(printable(gpu === null ? 'No NVIDIA GPU on this machine.' : `GPU: ${gpu}.`));
	output.line(printable(`Downloads ${formatBytes(bytes)} from ${new URL(index.url).host}:`));
	for (const { file, bytes } of files) output.line(printable(`  ${file} (${formatBytes(bytes)})`));
	output.line(`Target folder: ${folder}`);
}
