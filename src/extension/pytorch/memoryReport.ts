import { formatCount, formatCounted } from '../../base/format.ts';
import type { MemoryEstimate } from '../../core/memory/estimateRecipe.ts';
import {
	bytesText,
	minutesText,
	partWords,
	pipelineTotalText,
	stageText,
	totalText,
} from '../../core/memory/memoryText.ts';
import type { MemoryPart } from '../../core/memory/stageMemory.ts';
import type { PipelineForecast } from '../../environment/estimatePipeline.ts';

/** Formats a memory estimate as Markdown. @param name recipe name, safe for display */
export function memoryReport(name: string, estimate: MemoryEstimate): string {
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
	const count = (value: number) => formatCount(value);
	const lines = [
		`# Memory estimate for ${name.replaceAll(/[`*_<>[\]#|]/g, ' ')}`,
		'',
		totalText(estimate),
		...(advice === null ? [] : ['', advice]),
		'',
		`${count(parameters)} parameters (${family.replaceAll(/[^\w-]/g, '')}), ${count(trained)} trainable; ` +
			`${formatCounted(processes, 'process', 'processes')} on ${device}, ${precision}, attention ${attention}.`,
	];
	for (const stage of stages) {
		lines.push('', `## ${stageText(stage)}`, '', '| part | memory |', '|---|---:|');
		const parts = (Object.entries(stage.parts) as [MemoryPart, number][]).sort(([, a], [, b]) => b - a);
		for (const [part, bytes] of parts) lines.push(`| ${partWords[part]} | ${bytesText(bytes)} |`);
	}
	lines.push('', `Non-tensor memory: ${bytesText(overhead)}${vllm === 0 ? '' : `, plus ${bytesText(vllm)} for vLLM`}.`);
	if (notes.length > 0) lines.push('', ...notes.map((note) => `- ${note}`));
	lines.push('', 'For the method and its accuracy, see docs/memory.md.', '');
	return lines.join('\n');
}

/** Formats the memory estimate of a pipeline as Markdown, followed by the full estimate of each stage that has one. */
export function pipelineMemoryReport(forecast: PipelineForecast): string {
	const cell = (text: string) => text.replaceAll(/[`*_<>[\]#|\\\n]/g, ' ');
	const time = minutesText(forecast);
	const lines = [
		`# Memory estimate for ${cell(forecast.name)}`,
		'',
		cell(pipelineTotalText(forecast)),
		...(time === null ? [] : ['', time]),
		'',
		'| stage | type | memory | minutes | |',
		'|---|---|---:|---:|---|',
		...forecast.stages.map(({ name, type, minutes, estimate, reason }) => {
			const memory = estimate === null ? '–' : bytesText(estimate.total);
			const words = reason ?? (estimate?.fits === false ? (estimate.advice ?? 'Does not fit.') : '');
			return `| ${cell(name)} | ${cell(type)} | ${memory} | ${minutes ?? '–'} | ${cell(words)} |`;
		}),
		'',
		'Stages run sequentially, so a pipeline needs as much memory as its largest stage.',
	];
	for (const { name, estimate } of forecast.stages) {
		// Lower the headings by one level.
		if (estimate !== null) lines.push('', memoryReport(name, estimate).replaceAll(/^#/gm, '##').trimEnd());
	}
	return `${lines.join('\n')}\n`;
}
