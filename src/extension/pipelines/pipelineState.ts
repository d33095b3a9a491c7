import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';

export const isLivePipeline = ({ status }: Pick<PipelineView, 'status'>): boolean =>
	status === 'starting' || status === 'running';

/** Returns whether the pipeline's runner can resume it. */
export const isResumablePipeline = ({ status }: Pick<PipelineView, 'status'>): boolean =>
	status === 'stopped' || status === 'failed' || status === 'crashed';
