import { dirname } from 'node:path';
import * as vscode from 'vscode';
import type { MemoryEstimate } from '../../core/memory/estimateRecipe.ts';
import { partsText, stageText, totalText } from '../../core/memory/memoryText.ts';
import { estimateMemory } from '../../environment/estimateMemory.ts';
import { estimatePipeline, type PipelineForecast } from '../../environment/estimatePipeline.ts';
import type { PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { readPipelineFile } from '../../runs/pipeline/startPipeline.ts';
import { resolveRecipeFile } from '../../runs/prepareRun.ts';
import { withProgress } from '../progress.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { displayText } from '../runView.ts';
import { memoryReport, pipelineMemoryReport } from './memoryReport.ts';

/** Implements *Estimate Memory* and asks for confirmation before starting a recipe whose run does not fit in memory. */
export class MemoryCommand {
	readonly #documents: ReadOnlyDocuments;

	constructor(documents: ReadOnlyDocuments) {
		this.#documents = documents;
	}

	/** Shows the estimate as a document. @returns the estimate, for tests */
	async show(recipe: vscode.Uri): Promise<MemoryEstimate | PipelineForecast> {
		const pipeline = await readPipelineFile(recipe.fsPath);
		if (pipeline !== null) return this.#showPipeline(recipe, pipeline);
		const { name, estimate } = await withProgress(
			{ title: 'Estimating memory', why: 'reading the model and the data' },
			(signal) => this.#estimate(recipe, signal),
		);
		await this.#documents.show('Memory.md', memoryReport(displayText(name), estimate), { preview: true });
		return estimate;
	}

	async #showPipeline(recipe: vscode.Uri, pipeline: PipelineRecipe): Promise<PipelineForecast> {
		const forecast = await withProgress(
			{ title: 'Estimating memory', why: 'reading the models and data of all stages' },
			(signal) => estimatePipeline(pipeline, dirname(recipe.fsPath), { signal }),
		);
		await this.#documents.show('Memory.md', pipelineMemoryReport(forecast), { preview: true });
		return forecast;
	}

	/**
	 * Returns whether to start a recipe: true if its run fits in memory, there is no estimate, or the user chooses to
	 * start it anyway. A failed estimate never prevents a start, because starting the recipe reports any problems.
	 */
	async mayStart(recipe: vscode.Uri): Promise<boolean> {
		const estimate = await this.#estimate(recipe).then(
			(result) => result.estimate,
			() => null,
		);
		if (estimate === null || estimate.fits !== false) return true;
		const start = 'Start Anyway';
		const show = 'Show Estimate';
		const largest = estimate.stages.reduce((a, b) => (b.peak > a.peak ? b : a));
		const answer = await vscode.window.showWarningMessage(
			totalText(estimate),
			{
				modal: true,
				detail: [`${stageText(largest)}: ${partsText(largest.parts)}.`, estimate.advice ?? ''].join('\n').trim(),
			},
			start,
			show,
		);
		if (answer === show) await this.show(recipe);
		return answer === start;
	}

	async #estimate(recipe: vscode.Uri, signal?: AbortSignal): Promise<{ name: string; estimate: MemoryEstimate }> {
		const resolved = await resolveRecipeFile(recipe.fsPath);
		const estimate = await estimateMemory(resolved, signal === undefined ? {} : { signal });
		return { name: resolved.name, estimate };
	}
}
