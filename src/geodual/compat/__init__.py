"""Our learners under the names of other libraries, so that you can switch by changing an import."""
