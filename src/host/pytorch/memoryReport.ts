import type { MemoryEstimate } from '../../core/memory/estimateRecipe.ts';
import { bytesText, partWords, stageText, totalText } from '../../core/memory/memoryText.ts';
import type { MemoryPart } from '../../core/memory/stageMemory.ts';

/** An estimate of memory as Markdown. @param name of the recipe, as it can be shown */
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
	const count = (value: number) => value.toLocaleString('en');
	const lines = [
		`# Memory of ${name.replaceAll(/[`*_<>[\]#|]/g, ' ')}`,
		'',
		totalText(estimate),
		...(advice === null ? [] : ['', advice]),
		'',
		`${count(parameters)} parameters (${family.replaceAll(/[^\w-]/g, '')}), ${count(trained)} of them trained; ` +
			`${processes} ${processes === 1 ? 'process' : 'processes'} on ${device}, ${precision}, attention ${attention}.`,
	];
	for (const stage of stages) {
		lines.push('', `## ${stageText(stage)}`, '', '| part | memory |', '|---|---:|');
		const parts = (Object.entries(stage.parts) as [MemoryPart, number][]).sort(([, a], [, b]) => b - a);
		for (const [part, bytes] of parts) lines.push(`| ${partWords[part]} | ${bytesText(bytes)} |`);
	}
	lines.push('', `Beside tensors: ${bytesText(overhead)}${vllm === 0 ? '' : `, and ${bytesText(vllm)} for vLLM`}.`);
	if (notes.length > 0) lines.push('', ...notes.map((note) => `- ${note}`));
	lines.push('', 'How it is calculated, and how near it comes, stands in docs/memory.md.', '');
	return lines.join('\n');
}
