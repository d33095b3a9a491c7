/** File names in a pipeline folder. */
export const pipelineFiles = {
	record: 'pipeline.json',
	recipe: 'pipeline.recipe.json',
	log: 'pipeline.log',
	lock: 'pipeline.lock',
} as const;

/**
 * Valid stage names. A stage name is also a folder name: no separators, and no "~", which marks folders that were set
 * aside.
 */
export const stageNamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9_-])?$/;
