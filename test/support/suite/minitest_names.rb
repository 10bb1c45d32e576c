# frozen_string_literal: true

# What the suite replaces of Minitest, by its names in Minitest 5 and 6. Ruby 3.1 has no Minitest 6.
module TestSuite
  six = Minitest.respond_to?(:run_all_suites)
  LOOP = six ? :run_all_suites : :__run # Minitest's loop over all classes: (reporter, options)
  ONE_TEST = six ? :run : :run_one_method # a class's run of a test: (test_class, name, reporter)
end
