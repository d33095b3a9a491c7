import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';

export const isLivePipeline = ({ status }: Pick<PipelineView, 'status'>): boolean =>
	status === 'starting' || status === 'running';

/** Whether its runner can take it up again. */
export const isResumablePipeline = ({ status }: Pick<PipelineView, 'status'>): boolean =>
	status === 'stopped' || status === 'failed' || status === 'crashed';
