/** The parts of Preact that the console uses, from one place. */
export {
  html, render, useCallback, useEffect, useMemo, useRef, useState,
} from "./vendor/htm-preact.module.js";
