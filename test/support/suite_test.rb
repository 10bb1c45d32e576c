# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The program that runs the tests, on test files made for it.
class SuiteTest < Skep::TestCase
  ROOT = File.expand_path("../..", __dir__)
  GOOD = <<~RUBY
    test("passes") { assert_match(/worker\\.rb\\z/, $PROGRAM_NAME) }
    test("passes, too") { 2.times { assert true } }
  RUBY
  private_constant :ROOT, :GOOD

  test "prints one summary of all workers, after the slowest tests and the seed" do
    out, status = suite({ "One" => GOOD, "Two" => "#{GOOD}test('is skipped') { skip 'why' }" },
                        "--seed", "42")
    assert_predicate status, :success?, out
    assert_equal ["5 runs, 8 assertions, 0 failures, 0 errors, 1 skips"], out.scan(/^\d+ runs.*$/)
    assert_match(/^Run options:.*--seed 42$/, out)
    assert_match(%r{^The slowest.* --seed 42:\n.*^ +[\d.]+ s  \S+/one_test\.rb: OneTest#test_pa}m,
                 out[/.*(?=^5 runs)/m])
  end

  test "prints failures and errors in full, with the command that runs their file again" do
    out, status = suite({ "One" => GOOD, "Two" => <<~'RUBY' }, "--seed", "42")
      test("fails") { assert_equal "a", "b" }
      test("raises") { raise Object.const_set(:Late, Class.new(IOError)), "dis\xFFk" }
    RUBY
    assert_equal 1, status.exitstatus
    assert_match(/^  \d\) Failure:\nTwoTest#test_fails \[.*two_test\.rb:2\]:\n.*"a"\n.*"b"/m, out)
    assert_match(/^  \d\) Error:\nTwoTest#test_raises:\nLate: dis.k\n +\S*two_test\.rb:3:in/, out)
    assert_equal 2, out.scan(%r{^Rerun: .*bin/test \S+/two_test\.rb --seed 42$}).size
    assert_match(/^4 runs, \d+ assertions, 1 failures, 1 errors, 0 skips$/, out)
  end

  test "a worker that is killed or exits fails the test in progress, and no other" do
    more = (1..9).map { |n| "test('#{n}') { pass }" }.join("\n")
    out, status = suite({ "One" => "test('ends') { Process.kill(:KILL, Process.pid) }\n#{more}",
                          "Two" => "test('ends') { exit!(0) }\n#{more}" })
    assert_equal 1, status.exitstatus
    { "One" => "SIGKILL", "Two" => "exit 0" }.each do |name, how|
      file = "#{name.downcase}_test.rb"
      assert_match(/#{name}Test#test_ends:\nThe worker that ran \S+#{file} ended .*: #{how}/, out)
    end
    assert_match(/^20 runs, \d+ assertions, 0 failures, 2 errors/, out)
  end

  test "reports a worker that exits with an error after its last test" do
    out, status = suite({ "One" => GOOD, "Two" => "test('ends') { pass && at_exit { exit!(3) } }" })
    assert_equal 1, status.exitstatus
    assert_match(/The worker that had run \S+two_test\.rb, .* did not end well: exit 3/, out)
  end

  test "runs the tests of a run_alone! class while no other test runs" do
    in_directory do |directory|
      log = "#{directory}/log"
      note = ->(what) { %(File.write("#{log}", "#{what}\\n", mode: "a")) }
      body = "test('a') { #{note["+"]}; pass; #{note["-"]} }\n"
      alone = "run_alone! 'it logs'\n" \
              "3.times { |n| test(n.to_s) { #{note["("]}; pass; #{note[")"]} } }"
      out, status = suite({ "One" => alone, "Two" => body, "Three" => alone, "Four" => body })
      assert_predicate status, :success?, out
      assert_match(/\A[-+]{4}(\(\)){6}\z/, File.read(log).delete("\n"))
    end
  end

  test "runs what the options select, and prints each test" do
    out, status = suite({ "One" => GOOD, "Two" => GOOD }, "-v", "-n", "/too/")
    assert_predicate status, :success?, out
    %w[One Two].each { |name| assert_match(/^#{name}Test#test_passes, too = [\d.]+ s = \.$/, out) }
    assert_match(/^2 runs/, out)
  end

  test "runs a single file in its own process, and all files with one process" do
    body = GOOD.sub("worker", "suite")
    assert_predicate suite({ "One" => body }, env: { "SKEP_TEST_PROCESSES" => nil }).last, :success?
    env = { "SKEP_TEST_PROCESSES" => "1" }
    assert_predicate suite({ "One" => body, "Two" => body }, env:).last, :success?
  end

  test "refuses a number of processes below 1" do
    out, status = suite({ "One" => GOOD, "Two" => GOOD }, "--processes", "0")
    assert_equal 1, status.exitstatus
    assert_match(/number of processes must be 1 or more: 0/, out)
  end

  %i[TERM INT].each do |signal|
    test "#{signal} ends the workers" do
      in_directory do |directory|
        File.mkfifo("#{directory}/fifo")
        body = "test('hangs') { File.write('#{directory}/fifo', 'up'); IO.pipe.first.read }"
        paths = %w[One Two].map { |name| test_file(directory, name, body) }
        reader = File.open("#{directory}/fifo", File::RDWR)
        IO.pipe do |ends, held|
          pid = spawn(environment(directory), *command, *paths,
                      in: File::NULL, %i[out err] => held, pgroup: true)
          held.close
          2.times { wait_readable(reader, 30).readpartial(2) }
          Process.kill(signal, pid)
          wait_end(ends)
          refute_predicate Process.wait2(pid).last, :success?
        end
        reader.close
      end
    end
  end

  private

  # Runs the suite on test classes with these bodies, in two processes, without Bundler.
  def suite(bodies, *options, env: {})
    in_directory do |directory|
      paths = bodies.map { |name, body| test_file(directory, name, body) }
      out, err, status = run_command({ **environment(directory), **env },
                                     *command, *options, *paths, timeout: 60)
      [out + err, status]
    end
  end

  def in_directory(&) = Dir.mktmpdir("skep-suite", &)

  def test_file(directory, name, body)
    "#{directory}/#{name.downcase}_test.rb".tap do |path|
      File.write(path, "class #{name}Test < Skep::TestCase\n#{body}\nend\n")
    end
  end

  def command = [RbConfig.ruby, "-w", "-r./test/load_path", "test/support/suite.rb"]

  def environment(directory)
    { "RUBYOPT" => nil, "BUNDLER_SETUP" => nil, "RUBYLIB" => $LOAD_PATH.grep(/minitest/).join(":"),
      "MT_NO_PLUGINS" => "1", "SKEP_TEST_PROCESSES" => "2",
      "SKEP_TEST_SECONDS" => "#{directory}/seconds.json" }
  end

  # Reads what it prints until all processes that hold the pipe have ended.
  def wait_end(io)
    loop { wait_readable(io, 30).readpartial(4096) }
  rescue EOFError
    pass
  end
end
