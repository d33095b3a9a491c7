/** Names of the files of a pipeline's folder. */
export const pipelineFiles = {
	record: 'pipeline.json',
	recipe: 'pipeline.recipe.json',
	log: 'pipeline.log',
	lock: 'pipeline.lock',
} as const;

/** Of a stage. It names a folder: no separators, no "~", which marks a folder that was set aside. */
export const stageNamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9_-])?$/;
