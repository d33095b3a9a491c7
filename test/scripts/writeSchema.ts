/** Writes media/schemas/recipe.schema.json. A unit test fails if it is out of date. */
import { writeFileSync } from 'node:fs';
import { recipeSchemaText } from './recipeSchema.ts';

writeFileSync(new URL('../../media/schemas/recipe.schema.json', import.meta.url), recipeSchemaText());
