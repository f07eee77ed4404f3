// The files that the program is asked about. Others never reach it.

/** The settings of inventories, as globs. */
export const SETTINGS = ["**/{reclass-config,kapicorp-reclass-config}.yml"];

/** The documents of the globs in the setting `reclass.files`, and the settings of inventories. */
export function documentsOf(files: string[]): { scheme: string; language: string; pattern: string }[] {
  // Schemas may be JSON.
  const languages = ["yaml", "json"];
  return [...files, ...SETTINGS].flatMap((pattern) => languages.map((language) => ({ scheme: "file", language, pattern })));
}
