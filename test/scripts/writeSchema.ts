/** Writes media/schemas/recipe.schema.json; a unit test fails while it is not current. */
import { writeFileSync } from 'node:fs';
import { recipeSchemaText } from './recipeSchema.ts';

writeFileSync(new URL('../../media/schemas/recipe.schema.json', import.meta.url), recipeSchemaText());
