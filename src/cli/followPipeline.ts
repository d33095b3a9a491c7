import { formatClock } from '../base/format.ts';
import { claimsRunning } from '../runs/pipeline/pipelineFolder.ts';
import { type PipelineView, viewPipeline } from '../runs/pipeline/pipelineView.ts';
import { readMetricsEnd } from '../runs/runReader.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { stageLine, stepsOf } from './pipelineText.ts';
import { formatNumber } from './textForms.ts';

const lookMs = 250;
/** Minimum interval between progress lines for the running stages when output cannot be redrawn. */
const plainEveryMs = 5000;

/** Follows a pipeline until it ends, printing each stage event and the progress of the running stages. */
export async function followPipeline(folder: string, output: CliOutput, attempt: number): Promise<PipelineView> {
	const printed = new Map<string, string>();
	const kept = new Set<string>();
	let first = true;
	let progressAt = Date.now();
	/** Latest progress of each running stage. */
	let shown = new Map<string, string>();
	for (;;) {
		const view = await viewPipeline(folder);
		for (const stage of view.stages) {
			for (const name of stage.kept) {
				if (!kept.has(name) && !first) {
					erase(output);
					output.object({ kind: 'kept', stage: stage.name, folder: name });
					output.line(printable(`Rerunning ${stage.name}; its earlier outputs are kept as ${name}`));
				}
				kept.add(name);
			}
			if (printed.get(stage.name) === stage.status) continue;
			printed.set(stage.name, stage.status);
			// Stages that had already ended are not reported again.
			if (first && stage.status !== 'running') continue;
			if (stage.status === 'waiting') continue;
			output.object({ kind: 'stage', ...stage });
			const line = stageLine(stage);
			erase(output);
			if (line !== null) output.line(printable(line));
		}
		first = false;
		const live = claimsRunning(view);
		if (view.record.attempt >= attempt && !live) {
			erase(output);
			return view;
		}
		const running = view.stages.filter(({ status }) => status === 'running');
		const lines = await Promise.all(running.map(progressLine));
		if (output.json) {
			for (const [i, { name, done, total }] of running.entries()) {
				if (lines[i] !== shown.get(name)) output.object({ kind: 'progress', stage: name, done, total });
			}
		} else if (lines.length > 0 && output.isTerminal) {
			output.draw(`\r\u001b[K${lines.join('   ').slice(0, output.columns - 1)}`);
		} else if (lines.length > 0 && Date.now() - progressAt >= plainEveryMs) {
			progressAt = Date.now();
			for (const line of lines) output.line(line);
		}
		shown = new Map(running.map(({ name }, i) => [name, lines[i] as string]));
		await new Promise((resolve) => setTimeout(resolve, lookMs));
	}
}

function erase(output: CliOutput): void {
	if (output.isTerminal) output.draw('\r\u001b[K');
}

async function progressLine(stage: PipelineView['stages'][number]): Promise<string> {
	const metrics = stage.done === null ? [] : await readMetricsEnd(stage.folder, 16 << 10).catch(() => []);
	const last = metrics.findLast(({ values }) => values.reward !== undefined || values.loss !== undefined)?.values;
	const shown = last?.reward === undefined ? 'loss' : 'reward';
	const parts = [
		`${stage.name} ${stepsOf(stage)}`,
		...(last === undefined ? [] : [`${shown} ${formatNumber(last[shown])}`]),
		...(stage.seconds === null ? [] : [formatClock(stage.seconds)]),
	];
	return printable(parts.join('  '));
}
