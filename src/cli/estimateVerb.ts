import { dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import type { MemoryEstimate } from '../core/memory/estimateRecipe.ts';
import {
	bytesText,
	minutesText,
	partsText,
	pipelineTotalText,
	stageText,
	totalText,
} from '../core/memory/memoryText.ts';
import { estimateMemory } from '../environment/estimateMemory.ts';
import { estimatePipeline, type PipelineForecast } from '../environment/estimatePipeline.ts';
import type { DeviceMemory } from '../environment/machine/deviceMemory.ts';
import { readPipelineFile } from '../runs/pipeline/startPipeline.ts';
import { resolveRecipeFile } from '../runs/prepareRun.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { text } from './options.ts';
import { changeOptions, recipeChanges } from './runVerb.ts';
import { table } from './textForms.ts';
import { defineVerb } from './verb.ts';

export const estimateVerb = defineVerb({
	name: 'estimate',
	group: 'Train',
	arguments: [{ name: 'recipe', phrase: 'a recipe file', type: 'path' }],
	summary: 'Estimate the memory use of a recipe or pipeline, by stage and component.',
	options: {
		set: changeOptions.set,
		gpu: text('GIB', 'Memory per target GPU (default: detected on this machine).'),
	},
	async run({ values, positionals, output }) {
		const path = resolve(positionals[0] as string);
		const changes = recipeChanges(values);
		const pipeline = await readPipelineFile(path, changes);
		const abort = new AbortController();
		const stop = onInterrupt(() => abort.abort());
		try {
			const device = gpuOf(values.gpu);
			const options = { signal: abort.signal, ...(device === null ? {} : { device }) };
			if (pipeline !== null) {
				const forecast = await estimatePipeline(pipeline, dirname(path), options);
				output.object({ kind: 'pipeline-estimate', ...forecast });
				for (const line of pipelineLines(forecast)) output.line(printable(line));
				return forecast.fits === false ? 1 : 0;
			}
			const recipe = await resolveRecipeFile(path, changes);
			const estimate = await estimateMemory(recipe, options);
			output.object({ kind: 'estimate', recipe: recipe.name, ...estimate });
			for (const line of linesOf(recipe.name, estimate)) output.line(printable(line));
			return estimate.fits === false ? 1 : 0;
		} finally {
			stop();
		}
	},
});

/** Formats the stages as a table, followed by the totals and a fix for the first stage that does not fit. */
function pipelineLines(forecast: PipelineForecast): string[] {
	const rows = forecast.stages.map(({ name, type, minutes, estimate }) => {
		const top = estimate === null ? null : estimate.stages.reduce((a, b) => (b.peak > a.peak ? b : a));
		return [
			name,
			type,
			estimate === null ? '-' : bytesText(estimate.total),
			top === null ? '-' : bytesText(top.peak),
			minutes === null ? '-' : String(minutes),
			estimate?.fits === false ? 'does not fit' : '',
		];
	});
	const reasons = new Map<string, string[]>();
	for (const { name, reason } of forecast.stages) {
		if (reason !== null) reasons.set(reason, [...(reasons.get(reason) ?? []), name]);
	}
	const advised = forecast.stages.find(({ estimate }) => estimate?.fits === false);
	const time = minutesText(forecast);
	return [
		`${forecast.name}: ${formatCounted(forecast.stages.length, 'stage')} in sequence`,
		...table([['stage', 'type', 'memory', 'tensors', 'minutes', ''], ...rows]).map((line) => line.trimEnd()),
		pipelineTotalText(forecast),
		...(time === null ? [] : [time]),
		...(advised?.estimate?.advice ? [`${advised.name}: ${advised.estimate.advice}`] : []),
		...[...reasons].map(([reason, names]) => `${names.join(', ')}: ${reason}`),
	];
}

function gpuOf(text: string | undefined): DeviceMemory | null {
	if (text === undefined) return null;
	const gibibytes = Number(text);
	if (!(gibibytes > 0 && gibibytes < 1e6)) {
		throw new Failure('invalid', `Invalid --gpu value "${text}".`, 'Specify GPU memory in GiB, such as 80.');
	}
	return { device: 'cuda', bytes: gibibytes * 2 ** 30 };
}

function linesOf(name: string, estimate: MemoryEstimate): string[] {
	const {
		parameters,
		trained,
		family,
		processes,
		device,
		precision,
		attention,
		stages,
		overhead,
		vllm,
		notes,
		advice,
	} = estimate;
	const millions = (count: number) => `${(count / 1e6).toFixed(count < 1e7 ? 2 : 0)} million`;
	const part = trained === parameters ? '' : `, ${millions(trained)} trainable`;
	return [
		`${name}: ${millions(parameters)} parameters (${family})${part}`,
		`${formatCounted(processes, 'process', 'processes')} on ${device}, ${precision}, attention ${attention}`,
		...stages.flatMap((stage) => [stageText(stage), `  ${partsText(stage.parts)}`]),
		`Non-tensor memory: ${bytesText(overhead)}${vllm === 0 ? '' : `, plus ${bytesText(vllm)} for vLLM`}`,
		totalText(estimate),
		...(advice === null ? [] : [advice]),
		...notes.map((note) => `Note: ${note}`),
	];
}
